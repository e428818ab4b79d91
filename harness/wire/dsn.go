package wire

import (
	"fmt"
	"net/url"
)

// ListenFor starts a proxy in front of the server of a connection string, a URL.
// It also returns the connection string that leads through it.
func ListenFor(dsn string) (*Proxy, string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, "", fmt.Errorf("connection string: %w", err)
	}
	p, err := Listen(u.Host)
	if err != nil {
		return nil, "", err
	}
	u.Host = p.Addr()
	return p, u.String(), nil
}
