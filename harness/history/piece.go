package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Piece says that a history is a piece of a recorded one: some writes of one
// resource, each with reads that saw it. It says nothing of the other
// properties of the whole.
//
// A write that was left out may have stood anywhere. So a read of one observes
// nothing, and a write computed from one may stand on any other. Then a piece
// that is illegal makes the whole illegal: take a legal order of the whole, and
// what is left of it in the piece is legal too.
type Piece struct {
	Property string   `json:"property"`           // what it shows violated
	LeftOut  []string `json:"left_out,omitempty"` // ids of writes that some write of the piece was computed from
}

// LeftOut says whether a write is one that this piece does without.
func (h *Header) LeftOut(writeID string) bool {
	return h.Piece != nil && slices.Contains(h.Piece.LeftOut, writeID)
}

// Save writes the header and the operations of h to path, in the format of
// recorders, replacing what was there.
func Save(path string, h *History) error {
	header := h.Header
	header.Schema = cmp.Or(header.Schema, Schema)
	var events []Event
	for _, op := range h.Operations {
		events = append(events, op.invocation(), op.completion())
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	first := int64(0)
	if len(events) > 0 {
		first = events[0].Time
	}
	events = slices.Insert(events, 0, Event{Type: TypeHeader, Time: first, Header: &header})

	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("save history: %w", err)
	}
	out := bufio.NewWriter(f)
	enc := json.NewEncoder(out)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			f.Close()
			return fmt.Errorf("save history: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		f.Close()
		return fmt.Errorf("save history: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("save history: %w", err)
	}
	return nil
}

// invocation is what was known when the operation was called.
func (op Operation) invocation() Event {
	e := Event{
		Type: TypeInvoke, Time: op.Call, Op: op.ID, Process: op.Process, Worker: op.Worker, Client: op.Client,
		Resource: op.Resource, Kind: op.Kind, Basis: op.Basis,
	}
	switch op.Kind {
	case Acquire:
	case Draw:
		e.Grant = op.Grant
	case Read, Claim:
		e.Grant, e.Token = op.Grant, op.Token
	default:
		e.Grant, e.Token, e.WriteID, e.Version = op.Grant, op.Token, op.WriteID, op.Version
	}
	return e
}

// completion is what was learned from its reply.
func (op Operation) completion() Event {
	e := Event{
		Type: TypeComplete, Time: op.Completed, Op: op.ID, Outcome: op.Outcome, LeaseCall: op.LeaseCall, LeaseTTL: op.LeaseTTL,
		Error: op.Error,
	}
	switch op.Kind {
	case Acquire:
		e.Grant, e.Token = op.Grant, op.Token
	case Draw:
		e.Token = op.Token
	case Read, Claim:
		e.WriteID, e.Version = op.WriteID, op.Version
	}
	return e
}

// IsPiece says whether a file is a saved piece of a history, by its first line.
func IsPiece(path string) bool {
	f, err := Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	line, err := readLine(bufio.NewReader(f))
	if err != nil {
		return false
	}
	var e Event
	return json.Unmarshal(line, &e) == nil && e.Type == TypeHeader && e.Header != nil && e.Header.Piece != nil
}
