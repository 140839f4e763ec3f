package program

import (
	"log"
	"os"
	"sync"
	"time"
)

// again is how long it takes until what a pod refers to is looked at again.
const again = time.Second

// run brings the pod's files about, runs its programs until they have ended, and
// keeps the files as what they come from is.
func (i *instance) run() {
	defer i.changed()
	defer close(i.done)
	if !i.prepare() {
		return
	}
	var running sync.WaitGroup
	for _, c := range i.containers {
		running.Go(c.run)
	}
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	ticker := time.NewTicker(again)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
			if err := i.volumes.write(i.now); err != nil && i.ctx.Err() == nil {
				log.Printf("pod %s/%s: its files stay as they are: %v", i.pod.Namespace, i.pod.Name, err)
			}
		}
	}
}

// prepare tries to bring the pod's files about until that works, and says
// meanwhile what is missing. It returns false when the pod is to end before.
func (i *instance) prepare() bool {
	for {
		err := os.MkdirAll(i.dir, 0o755)
		if err == nil {
			err = i.volumes.write(i.ctx)
		}
		for _, c := range i.containers {
			if err == nil {
				err = c.readEnvironment(i.ctx)
			}
		}
		if i.ctx.Err() != nil {
			return false
		}
		if err == nil {
			return true
		}
		for _, c := range i.containers {
			c.waits("ContainerCreating", err.Error())
		}
		select {
		case <-i.ctx.Done():
			return false
		case <-time.After(again):
		}
	}
}
