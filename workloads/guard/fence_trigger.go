package guard

// FenceTrigger is Fenced with the comparison made once more by the table
// itself, so that no other entry can leave it out.
type FenceTrigger struct{ Fenced }

// Tables has the trigger: an update that changes the content without raising
// the number changes no row.
func (FenceTrigger) Tables() Tables {
	return Usual().and(`CREATE FUNCTION fence() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.payload IS DISTINCT FROM OLD.payload AND NEW.last_fence <= OLD.last_fence THEN
		RETURN NULL;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER fence BEFORE UPDATE ON config FOR EACH ROW EXECUTE FUNCTION fence()`)
}
