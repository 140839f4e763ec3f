package call

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/text/redact"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// ErrNoOptions is why what goes by the options of a CONNECT cannot be judged where
// the review carries none. They are not taken for empty ones: what a review does
// not carry is not known.
var ErrNoOptions = errors.New("the request carries no object, so nothing can be known of it")

// OptionsTree is what a pattern or an expression sees as the object of a CONNECT:
// all that the review carries, what an exec runs included. It is read once.
func (c *Call) OptionsTree() (map[string]any, error) {
	if !c.optionsRead {
		c.optionsRead = true
		c.options, c.optionsErr = ReadOptions(c.Request)
	}
	return c.options, c.optionsErr
}

// ReadOptions decodes the options of a CONNECT, with their kind; ErrNoOptions where the
// review carries none.
func ReadOptions(r *request.Request) (map[string]any, error) {
	o := r.Options
	if o == nil || r.Door != request.Admission {
		return nil, ErrNoOptions
	}
	if raw := o.Body.Reveal(); raw != nil {
		tree, err := apijson.Tree(raw)
		if err != nil {
			// The error may quote what it is about.
			return nil, fmt.Errorf("the %s cannot be read", o.Kind)
		}
		if tree["kind"] == nil {
			tree["kind"] = o.Kind
		}
		if tree["apiVersion"] == nil {
			tree["apiVersion"] = r.Kind.GroupVersion().String()
		}
		return tree, nil
	}
	return nil, ErrNoOptions
}

// OptionsJSON is the same for modules.
func (c *Call) OptionsJSON() (json.RawMessage, error) {
	tree, err := c.OptionsTree()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("the options of the request cannot be written: %w", errors.Unwrap(err))
	}
	return text, nil
}

// writeOptions are the options of a CREATE, UPDATE or DELETE as a tree, nil where none
// are known. They are read once.
func (c *Call) writeOptions() (map[string]any, error) {
	if !c.writeRead {
		c.writeRead = true
		c.write, c.writeErr = readWriteOptions(c.Request)
	}
	return c.write, c.writeErr
}

func readWriteOptions(r *request.Request) (map[string]any, error) {
	if r.Write == nil {
		return nil, nil
	}
	tree, err := apijson.Tree(r.Write)
	if err != nil {
		return nil, fmt.Errorf("the options of the request cannot be read: %w", err)
	}
	return tree, nil
}

// Runs are the words of what an exec runs, which nothing that is said of the
// request may show. It is nil where the request has no options.
func (c *Call) Runs() *redact.Words {
	if c.Request.Options == nil {
		return nil
	}
	if c.words == nil {
		// Of options that cannot be read nothing is shown either.
		tree, _ := c.OptionsTree()
		c.words = redact.Of(tree["command"])
	}
	return c.words
}

// Showable are the fields of the options of an exec whose values findings show.
var Showable = map[string]bool{"container": true, "stdin": true, "stdout": true, "stderr": true, "tty": true, "kind": true, "apiVersion": true}

// SafeContext is what a rule read without what an exec runs, of which a policy can
// make the names of what it asks for.
func (c *Call) SafeContext(read *decision.Context) *decision.Context {
	words := c.Runs()
	if read == nil || words == nil {
		return read
	}
	for i := range read.Reads {
		read.Reads[i].Namespace, read.Reads[i].Name = words.Text(read.Reads[i].Namespace), words.Text(read.Reads[i].Name)
	}
	for i := range read.Denied {
		read.Denied[i].Resource, read.Denied[i].Why = words.Text(read.Denied[i].Resource), words.Text(read.Denied[i].Why)
	}
	return read
}

// MakeSafe takes what an exec runs out of all that a module says.
func (c *Call) MakeSafe(response *wasm.Response) {
	words := c.Runs()
	if words == nil {
		return
	}
	response.Message = words.Text(response.Message)
	for i := range response.Warnings {
		response.Warnings[i] = words.Text(response.Warnings[i])
	}
	annotations := make(map[string]string, len(response.AuditAnnotations))
	for key, value := range response.AuditAnnotations {
		annotations[words.Text(key)] = words.Text(value)
	}
	response.AuditAnnotations = annotations
}
