package guard

// Table is what guards work on unless they bring tables of their own. A fresh
// row has the fence 0.
const Table = `CREATE TABLE config (id bigint PRIMARY KEY, payload jsonb NOT NULL, last_fence bigint NOT NULL DEFAULT 0, version bigint NOT NULL DEFAULT 0)`

// Tables is what a guard works on. Whatever it is, `config` can be read, with
// one row per id that has payload and version.
type Tables struct {
	Create  string // the DDL
	Row     string // makes a fresh row of $1 id and $2 payload
	Copies  int    // of each fresh row
	Journal string // the trigger that calls journal_write() for each write that is accepted, in their order
}

// journalOfUpdates calls journal_write() under the row lock, whoever wrote: no
// guard, bypass or administrator can forget it. A claim leaves the payload as
// it was and is no write.
const journalOfUpdates = `CREATE TRIGGER journal AFTER UPDATE ON config FOR EACH ROW
	WHEN (OLD.payload IS DISTINCT FROM NEW.payload) EXECUTE FUNCTION journal_write()`

// Usual are the tables of most guards.
func Usual() Tables {
	return Tables{Create: Table, Row: `INSERT INTO config (id, payload) VALUES ($1, $2)`, Copies: 1, Journal: journalOfUpdates}
}

// Tabled is a Guard that works on tables of its own.
type Tabled interface {
	Tables() Tables
}

// TablesOf are those that a guard works on.
func TablesOf(g Guard) Tables {
	if own, ok := g.(Tabled); ok {
		return own.Tables()
	}
	return Usual()
}

// and adds DDL to the usual tables.
func (t Tables) and(ddl string) Tables {
	t.Create += ";\n" + ddl
	return t
}

// On is a guard that works on other tables than its own: those of a user who
// missed a precondition, or a second entry to another guard's.
type On struct {
	Guard
	Is Tables
}

// Tables are those it was given.
func (o On) Tables() Tables { return o.Is }

// Nullable are the usual tables of somebody who forgot NOT NULL and the initial
// value: no number is less than an unknown one.
func Nullable() Tables {
	t := Usual()
	t.Create = `CREATE TABLE config (id bigint PRIMARY KEY, payload jsonb NOT NULL, last_fence bigint, version bigint NOT NULL DEFAULT 0)`
	return t
}

// Doubled are the usual tables without a key, with every row twice.
func Doubled() Tables {
	t := Usual()
	t.Create = `CREATE TABLE config (id bigint, payload jsonb NOT NULL, last_fence bigint NOT NULL DEFAULT 0, version bigint NOT NULL DEFAULT 0)`
	t.Copies = 2
	return t
}

// Empty are the usual tables in which nobody made a row.
func Empty() Tables {
	t := Usual()
	t.Copies = 0
	return t
}
