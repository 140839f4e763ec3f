//go:build wasip1

// A policy that refuses an Ingress whose host another Ingress of the cluster has
// already. It is a WASI command: it reads its question from standard input, and
// writes its answer to standard output.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// settings are what whoever deploys the policy can choose.
type settings struct {
	// Except are hosts that several may have.
	Except []string `json:"except"`
}

type ingress struct {
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		Rules []struct {
			Host string `json:"host"`
		} `json:"rules"`
	} `json:"spec"`
}

type question struct {
	Request struct {
		Name      string  `json:"name"`
		Namespace string  `json:"namespace"`
		Object    ingress `json:"object"`
	} `json:"request"`
	Settings settings `json:"settings"`
}

type answer struct {
	Accepted bool   `json:"accepted"`
	Message  string `json:"message,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var said any
	switch os.Args[1] {
	case "validate-settings":
		said = validateSettings(input)
	case "validate":
		var q question
		if err := json.Unmarshal(input, &q); err != nil {
			return fmt.Errorf("the question cannot be read: %w", err)
		}
		if said, err = validate(&q); err != nil {
			return err
		}
	default:
		return fmt.Errorf("there is no operation %q", os.Args[1])
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}

func validateSettings(input []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&settings{}); err != nil {
		return map[string]any{"valid": false, "message": err.Error()}
	}
	return map[string]any{"valid": true}
}

func validate(q *question) (*answer, error) {
	var others struct {
		Items []ingress `json:"items"`
	}
	err := call("kubernetes", "list_resources_all", map[string]string{
		"api_version": "networking.k8s.io/v1", "kind": "Ingress",
	}, &others)
	if err != nil {
		// An error is not an answer: the policy's failurePolicy says what follows.
		return nil, fmt.Errorf("the other ingresses cannot be read: %w", err)
	}
	for _, rule := range q.Request.Object.Spec.Rules {
		if rule.Host == "" || slices.Contains(q.Settings.Except, rule.Host) {
			continue
		}
		for _, other := range others.Items {
			own := other.Metadata.Name == q.Request.Name && other.Metadata.Namespace == q.Request.Namespace
			for _, taken := range other.Spec.Rules {
				if !own && taken.Host == rule.Host {
					return &answer{Message: fmt.Sprintf("the host %s belongs to the Ingress %s/%s", rule.Host, other.Metadata.Namespace, other.Metadata.Name)}, nil
				}
			}
		}
	}
	return &answer{Accepted: true}, nil
}
