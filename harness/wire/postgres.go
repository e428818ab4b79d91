package wire

import (
	"bytes"
	"encoding/binary"
)

// Bounds of a PostgreSQL startup message.
const (
	startupLeast = 8     // length and protocol version
	startupMost  = 10000 // MAX_STARTUP_PACKET_LENGTH
	startupMajor = 3     // of the protocol version
)

// startupName is the application_name in a PostgreSQL startup message at the
// beginning of a stream, "" if it begins with anything else. It is not known as
// long as more bytes may make a difference. (PostgreSQL documentation, "Message
// Formats", StartupMessage: Int32 length, Int32 version, pairs of strings.)
func startupName(head []byte) (name string, known bool) {
	if len(head) > 0 && head[0] != 0 || len(head) > 1 && head[1] != 0 { // longer than any startup message
		return "", true
	}
	if len(head) < startupLeast {
		return "", false
	}
	length := int(binary.BigEndian.Uint32(head))
	if length < startupLeast || length > startupMost || binary.BigEndian.Uint16(head[4:]) != startupMajor {
		return "", true
	}
	if len(head) < length {
		return "", false
	}
	parameters := bytes.Split(head[startupLeast:length], []byte{0})
	for i := 0; i+1 < len(parameters); i += 2 {
		if string(parameters[i]) == "application_name" {
			return string(parameters[i+1]), true
		}
	}
	return "", true
}
