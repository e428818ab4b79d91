package cluster
import "testing"
func TestImg(t *testing.T) {
	if err := BuildImages(testContext(t), t.Output()); err != nil { t.Fatal(err) }
}
