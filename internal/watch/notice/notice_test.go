package notice

import "testing"

// TestNotice is taken once, however often it was given.
func TestNotice(t *testing.T) {
	n := New()
	for range 3 {
		n.Give()
	}
	<-n
	select {
	case <-n:
		t.Error("it is taken twice")
	default:
	}
	n.Give()
	<-n
}
