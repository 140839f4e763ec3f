package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
)

// firstFreezes dials connections, which it counts, and of which the first goes
// silent once frozen is closed.
func firstFreezes(frozen chan struct{}, dials *int) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if *dials++; err != nil || *dials > 1 {
			return conn, err
		}
		return &freezing{Conn: conn, frozen: frozen, closed: make(chan struct{})}, nil
	}
}

// TestSilentConnectionIsLeft shows that after a time-out the next read does not
// go over the connection on which nothing comes any more. With HTTP/2 all reads
// share one connection, and none would come through until its ping fails.
func TestSilentConnectionIsLeft(t *testing.T) {
	clustertest.CheckGoroutines(t)
	server := clustertest.NewTLSServer(t, web())
	frozen := make(chan struct{})
	dials := 0
	config := server.Config()
	config.Dial = firstFreezes(frozen, &dials)
	live, err := NewLive(config, WithReadTimeout(300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(live.Close)
	if _, err := live.Pod(t.Context(), "shop", "web"); err != nil {
		t.Fatal(err)
	}
	close(frozen)
	if _, err := live.Pod(t.Context(), "shop", "web"); !isDeadline(err) {
		t.Fatalf("want a time-out, got %v", err)
	}
	if _, err := live.Pod(t.Context(), "shop", "web"); err != nil {
		t.Errorf("the read after the time-out: %v", err)
	}
	if dials != 2 {
		t.Errorf("%d connections, want 2", dials)
	}
}

// freezing is a connection whose other end vanishes once frozen is closed: what
// is sent is lost, and nothing comes.
type freezing struct {
	net.Conn
	frozen, closed chan struct{}
}

func (f *freezing) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	select {
	case <-f.frozen:
		<-f.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (f *freezing) Write(b []byte) (int, error) {
	select {
	case <-f.frozen:
		return len(b), nil
	default:
		return f.Conn.Write(b)
	}
}

func (f *freezing) Close() error {
	select {
	case <-f.closed:
	default:
		close(f.closed)
	}
	return f.Conn.Close()
}

func TestCloseSilentSparesWhatAnswers(t *testing.T) {
	var ends []net.Conn
	c := newConnections(func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		ends = append(ends, there)
		return here, nil
	}, time.Second)
	var conns []net.Conn
	for range 3 {
		conn, err := c.Dial(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	idle, answered, silent := conns[0], conns[1], conns[2]
	for i, conn := range conns[1:] {
		go func() { _, _ = conn.Write([]byte("?")) }()
		if _, err := ends[i+1].Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _, _ = ends[1].Write([]byte("!")) }()
	if _, err := answered.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	c.CloseSilent(time.Hour)
	if len(c.open) != 3 {
		t.Errorf("%d connections are open, want 3: none has been silent for an hour", len(c.open))
	}
	c.CloseSilent(0)
	for name, test := range map[string]struct {
		conn net.Conn
		open bool
	}{"idle": {idle, true}, "answered": {answered, true}, "silent": {silent, false}} {
		if _, open := c.open[test.conn.(*connection)]; open != test.open {
			t.Errorf("%s connection: open %v, want %v", name, open, test.open)
		}
	}
	c.CloseAll()
	if len(c.open) != 0 {
		t.Errorf("%d connections are open after all were closed", len(c.open))
	}
}

// TestUnansweredHandshake shows that a connection is closed on which nothing has
// ever come, even when no read runs into its time-out any more, and one that was
// answered is not.
func TestUnansweredHandshake(t *testing.T) {
	var ends []net.Conn
	c := newConnections(func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		ends = append(ends, there)
		return here, nil
	}, 20*time.Millisecond)
	c.handshake = true
	answered, err := c.Dial(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = ends[0].Write([]byte("!")) }()
	if _, err := answered.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	unanswered, err := c.Dial(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unanswered.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("reading from the connection that nobody answers ends with %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := c.open[answered.(*connection)]; !open || len(c.open) != 1 {
		t.Errorf("%d connections are open, the one that was answered: %v", len(c.open), open)
	}
}

// TestServerThatSaysNothing reads from a server that takes connections and
// answers nothing, not even the TLS handshake: the read ends, and nothing goes
// on waiting.
func TestServerThatSaysNothing(t *testing.T) {
	clustertest.CheckGoroutines(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	live, err := NewLive(&rest.Config{Host: "https://" + listener.Addr().String()}, WithReadTimeout(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(live.Close)
	if _, err := live.Pod(t.Context(), "shop", "web"); !isDeadline(err) {
		t.Errorf("want a time-out, got %v", err)
	}
}
