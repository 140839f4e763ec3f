// Package defaults finds out what the API server fills into objects, by having it
// done. It writes the table that the product embeds, and random objects as they
// are before and after, by which the product is held to the real thing.
package defaults

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"k8s.io/klog/v2"
)

const usage = `usage: defaults table | objects [-seed N] [-count N] [-minor N] | fill [-minor N]

table    writes the defaults of every kind, found by trying them
objects  writes random objects, one a line: {"in": ..., "out": ...}
fill     reads objects, one a line, and writes each as the API server has it

-minor N has it done as Kubernetes 1.N does it, as far as its feature gates say.
`

// Main is the command.
func Main(args []string) int {
	if err := run(args, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "defaults:", err)
		return 1
	}
	return 0
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("a command is missing\n%s", usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "")
	count := flags.Int("count", 1000, "")
	minor := flags.Uint("minor", newest, "")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	// It warns of each gate that another version has in another way.
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	if err := emulate(*minor); err != nil {
		return err
	}
	buffered := bufio.NewWriter(out)
	var err error
	switch args[0] {
	case "table":
		var t *table
		if t, err = makeTable(); err == nil {
			err = t.write(buffered)
		}
	case "objects":
		err = objects(*seed, *count, json.NewEncoder(buffered))
	case "fill":
		err = fillAll(json.NewDecoder(in), json.NewEncoder(buffered))
	default:
		err = fmt.Errorf("there is no command %q\n%s", args[0], usage)
	}
	if err != nil {
		return err
	}
	return buffered.Flush()
}

// objects writes count random objects that an API server can read, kind by kind.
func objects(seed uint64, count int, to *json.Encoder) error {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 1)), listed: newEnums()}
	all := kinds()
	for n := 0; n < count; {
		raw, err := m.object(all[n%len(all)])
		if err != nil {
			return err
		}
		p, err := filled(raw)
		if err != nil {
			continue
		}
		if err := to.Encode(p); err != nil {
			return err
		}
		n++
	}
	return nil
}

func fillAll(from *json.Decoder, to *json.Encoder) error {
	for {
		var raw json.RawMessage
		if err := from.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		p, err := filled(raw)
		if err != nil {
			return err
		}
		if err := to.Encode(p); err != nil {
			return err
		}
	}
}

// write has one row a line, so that a change of one shows as such.
func (t *table) write(out io.Writer) error {
	kinds, err := json.MarshalIndent(t.Kinds, "  ", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "{\n  \"oldest\": %q,\n  \"newest\": %q,\n  \"kinds\": %s,\n  \"rows\": [\n", t.Oldest, t.Newest, kinds)
	for i := range t.Rows {
		text, err := json.Marshal(&t.Rows[i])
		if err != nil {
			return err
		}
		end := ","
		if i == len(t.Rows)-1 {
			end = ""
		}
		fmt.Fprintf(out, "    %s%s\n", text, end)
	}
	_, err = fmt.Fprint(out, "  ]\n}\n")
	return err
}
