package kubelet

import (
	_ "k8s.io/cri-api/pkg/apis/runtime/v1"
	_ "k8s.io/cri-streaming/pkg/streaming"
)

func Main([]string) int { return 0 }
