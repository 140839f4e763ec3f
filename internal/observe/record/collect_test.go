package record

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestClusterCollector(t *testing.T) {
	states := []ClusterState{{Name: "a", Up: true, LastContact: time.Unix(1700000000, 0), Busy: 2}, {Name: "b", Unreachable: 3}}
	c := ClusterCollector(func() []ClusterState { return states })
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	want := `
# HELP sallyport_cluster_last_contact_timestamp_seconds When the API server of a further cluster last answered a health check.
# TYPE sallyport_cluster_last_contact_timestamp_seconds gauge
sallyport_cluster_last_contact_timestamp_seconds{cluster="a"} 1.7e+09
# HELP sallyport_cluster_reads_refused_total Reads of a further cluster that were not made, by reason: busy, unreachable.
# TYPE sallyport_cluster_reads_refused_total counter
sallyport_cluster_reads_refused_total{cluster="a",reason="busy"} 2
sallyport_cluster_reads_refused_total{cluster="a",reason="unreachable"} 0
sallyport_cluster_reads_refused_total{cluster="b",reason="busy"} 0
sallyport_cluster_reads_refused_total{cluster="b",reason="unreachable"} 3
# HELP sallyport_cluster_up Whether the API server of a further cluster answered the last health check.
# TYPE sallyport_cluster_up gauge
sallyport_cluster_up{cluster="a"} 1
sallyport_cluster_up{cluster="b"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	states = nil
	for i := range maxClusters + 10 {
		states = append(states, ClusterState{Name: fmt.Sprint(i)})
	}
	if n := testutil.CollectAndCount(c, "sallyport_cluster_up"); n != maxClusters {
		t.Errorf("%d clusters have series, want %d", n, maxClusters)
	}
}
