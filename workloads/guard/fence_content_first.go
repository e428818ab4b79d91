package guard

import (
	"context"
	"fmt"

	"github.com/torture-harness/torture/workloads/point"
)

// FenceContentFirst saves the content in one statement and the number in the
// next. Whoever ends between them leaves new content under an old number.
type FenceContentFirst struct{ Plain }

// Write replaces the document if no larger number is known, then saves its own.
func (FenceContentFirst) Write(ctx context.Context, q Queryer, u Update) error {
	err := write(ctx, q, `UPDATE config SET payload = $1 WHERE id = $2 AND last_fence < $3 RETURNING id`, u, u.ID, u.Token)
	if err != nil {
		return err
	}
	point.Reach(ctx, point.Between)
	if _, err := q.Exec(ctx, `UPDATE config SET last_fence = $1 WHERE id = $2`, u.Token, u.ID); err != nil {
		// Not wrapped: whatever the error says of this statement, the content is in.
		return fmt.Errorf("the content was saved, its number perhaps not: %v", err)
	}
	return nil
}
