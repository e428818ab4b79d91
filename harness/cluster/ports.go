package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"golang.org/x/sys/unix"
)

// port is a reserved TCP port of 127.0.0.1. A socket that is bound and never
// listens keeps it: nobody who asks the kernel for any free port gets it, also
// while its server is down, but the server itself, which sets SO_REUSEADDR as
// every server does, can still bind to it and listen.
type port struct {
	number int
	socket int
}

// The ports are taken from below the range that the kernel uses for outgoing
// connections, so that no connection of anybody is ever in the way.
const (
	firstPort = 15000
	lastPort  = 32000
)

// ports chooses and reserves n free ports.
type ports func(n int) ([]*port, error)

// freePorts is the real one.
func freePorts(n int) ([]*port, error) {
	var found []*port
	for range 500 * n {
		if len(found) == n {
			break
		}
		p, err := reserve(firstPort + rand.IntN(lastPort-firstPort))
		if errors.Is(err, unix.EADDRINUSE) {
			continue
		}
		if err != nil {
			release(found)
			return nil, fmt.Errorf("reserve a port: %w", err)
		}
		found = append(found, p)
	}
	if len(found) < n {
		release(found)
		return nil, fmt.Errorf("reserve %d ports: those from %d to %d are taken", n, firstPort, lastPort)
	}
	return found, nil
}

// reserve takes a port if nobody else is bound to it, listening or not.
func reserve(number int) (*port, error) {
	alone, err := bind(number, false)
	if err != nil {
		return nil, err
	}
	_ = unix.Close(alone)
	socket, err := bind(number, true)
	if err != nil {
		return nil, err
	}
	return &port{number: number, socket: socket}, nil
}

func bind(number int, reuse bool) (int, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if reuse {
		err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err == nil {
		err = unix.Bind(socket, &unix.SockaddrInet4{Port: number, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		_ = unix.Close(socket)
		return -1, err
	}
	return socket, nil
}

func release(ps []*port) {
	for _, p := range ps {
		if p.socket >= 0 {
			_ = unix.Close(p.socket)
			p.socket = -1
		}
	}
}

func (p *port) addr() string { return "127.0.0.1:" + strconv.Itoa(p.number) }
