package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/module"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// policyRunFlags are the flags of policy run.
type policyRunFlags struct {
	liveFlags
	settingsFlags
	request        string
	mode           string
	raw            bool
	contextAware   bool
	replay, record string
	deadline       time.Duration
}

func newPolicyRun(s Streams) *cobra.Command {
	f := &policyRunFlags{}
	cmd := &cobra.Command{
		Use: "run MODULE -r REQUEST", Short: "Have a module judge one request",
		Long: `Run has a module judge one request, and prints its answer: an AdmissionResponse in
JSON, on one line. The settings are validated first.

A module may read nothing unless --allow-context-aware grants it what its metadata
declares. It reads the cluster that --kubeconfig or --context names, or a recorded
session. What is refused to it is said on standard error.

A module that was compiled from Rego is run as a policy of the mode opa or of the
mode gatekeeper; its metadata or -e says which.

The exit status is 0 once the module has answered, whatever the answer is; 1 if it
refuses the settings; 2 if it could not judge.`,
		Example: `  sallyport policy run annotated-policy.wasm -r request.json --settings-json '{"valid_namespace": "shop"}'
  sallyport policy run policy.wasm -r request.json --allow-context-aware --replay-host-capabilities-interactions session.yml`,
		Args: oneModule,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, args[0]) },
	}
	f.liveFlags.add(cmd, "the cluster that the module may read")
	flags := cmd.Flags()
	flags.StringVarP(&f.request, "request-path", "r", "", "the AdmissionRequest, or an AdmissionReview that holds it: a file, or -")
	f.settingsFlags.add(cmd)
	flags.StringVarP(&f.mode, "execution-mode", "e", "", "wapc, wasi, opa or gatekeeper; what the metadata of the module says, if not given")
	flags.BoolVar(&f.raw, "raw", false, "the request is any JSON, and no AdmissionRequest")
	flags.BoolVar(&f.contextAware, "allow-context-aware", false, "let the module read what its metadata declares, and make every other call")
	flags.StringVar(&f.replay, "replay-host-capabilities-interactions", "", "answer the module from a recorded session: a file with YAML")
	flags.StringVar(&f.record, "record-host-capabilities-interactions", "", "write what the module asks and is answered to a file, as such a session")
	flags.DurationVar(&f.deadline, "timeout", 10*time.Second, "longest time that the module may take")
	return cmd
}

func (f *policyRunFlags) run(ctx context.Context, s Streams, name string) error {
	if f.request == "" {
		return usagef("the request is missing; give a file with -r")
	}
	if f.replay != "" && f.record != "" {
		return usagef("a session is replayed or recorded; give one of the two")
	}
	request, uid, object, err := f.readRequest(s)
	if err != nil {
		return err
	}
	settings, err := f.settingsFlags.read()
	if err != nil {
		return err
	}
	read, err := readModule(ctx, name)
	if err != nil {
		return err
	}
	metadata, err := module.Read(read.Wasm)
	if err != nil {
		return err
	}
	limits := wasm.DefaultLimits()
	limits.Deadline = f.deadline
	engine, err := wasm.NewEngine(ctx, wasm.Config{Limits: limits, CacheDir: f.cacheDir()})
	if err != nil {
		return err
	}
	defer engine.Close(context.WithoutCancel(ctx))
	mode, err := f.runtime(read.Wasm, metadata)
	if err != nil {
		return err
	}
	compiled, err := engine.Compile(ctx, read.Wasm, wasm.CompileOptions{Name: name, Instances: 1, Mode: mode})
	if err != nil {
		return err
	}
	host, err := f.host(s, name, metadata, mode)
	if err != nil {
		return err
	}
	policy := compiled.Evaluator(wasm.EvaluatorOptions{Policy: name, HostCall: host.call, Data: host.data, Observer: &lineObserver{out: s.Err}, Deadline: f.deadline})
	valid, err := policy.ValidateSettings(ctx, settings)
	switch {
	case err != nil:
		return fmt.Errorf("the settings could not be validated: %w", err)
	case !valid.Valid:
		fmt.Fprintf(s.Err, "Provided settings are not valid: %q\n", valid.Message)
		return exitError(exitDenied)
	}
	response, judged := policy.Validate(ctx, request, settings)
	if err := host.finish(); err != nil {
		return err
	}
	return f.answer(s, uid, object, metadata, response, judged)
}

// cacheDir is where compiled modules are kept, so that the next run is quicker; none
// if there is no such place.
func (f *policyRunFlags) cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir = filepath.Join(dir, "sallyport", "modules")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	return dir
}

// answer prints the AdmissionResponse.
func (f *policyRunFlags) answer(s Streams, uid string, object json.RawMessage, metadata *module.Metadata, r wasm.Response, judged error) error {
	answer := moduleAnswer{UID: uid, Allowed: r.Accepted, AuditAnnotations: r.AuditAnnotations, Warnings: r.Warnings}
	if judged == nil && r.Accepted && r.MutatedObject != nil && !f.raw {
		patch, err := r.Patch(object, metadata == nil || metadata.Mutating)
		if err != nil {
			judged = err
		} else if patch != nil {
			answer.PatchType, answer.Patch = "JSONPatch", base64.StdEncoding.EncodeToString(patch)
		}
	}
	switch {
	case judged != nil:
		answer = moduleAnswer{UID: uid, Status: &moduleStatus{Message: "internal server error: " + judged.Error(), Code: 500}}
	case !r.Accepted && (r.Message != "" || r.Code != 0):
		answer.Status = &moduleStatus{Message: r.Message, Code: int(r.Code)}
	}
	line, err := json.Marshal(answer)
	if err == nil {
		_, err = fmt.Fprintln(s.Out, string(line))
	}
	if err != nil {
		return fmt.Errorf("the answer cannot be written: %w", err)
	}
	if judged != nil {
		return exitError(exitWrong)
	}
	return nil
}

// moduleAnswer is an AdmissionResponse of admission.k8s.io/v1, in which allowed
// always stands.
type moduleAnswer struct {
	UID              string            `json:"uid"`
	Allowed          bool              `json:"allowed"`
	PatchType        string            `json:"patchType,omitempty"`
	Patch            string            `json:"patch,omitempty"`
	Status           *moduleStatus     `json:"status,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
}

type moduleStatus struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code,omitempty"`
}

// maxRequest bounds what is read of a request or settings.
const maxRequest = 8 << 20

// readRequest reads the request, with its UID and its object.
func (f *policyRunFlags) readRequest(s Streams) (request json.RawMessage, uid string, object json.RawMessage, err error) {
	in := s.In
	if f.request != "-" {
		file, err := os.Open(f.request)
		if err != nil {
			return nil, "", nil, fmt.Errorf("the request cannot be read: %w", err)
		}
		defer file.Close()
		in = file
	}
	if in == nil {
		return nil, "", nil, usagef("there is no standard input")
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	switch {
	case err != nil:
		return nil, "", nil, fmt.Errorf("the request cannot be read: %w", err)
	case len(raw) > maxRequest:
		return nil, "", nil, fmt.Errorf("the request has more than %d bytes", maxRequest)
	case !json.Valid(raw):
		return nil, "", nil, fmt.Errorf("the request in %s is no JSON", f.request)
	}
	raw = bytes.TrimSpace(raw)
	if f.raw {
		return raw, "", nil, nil
	}
	var review struct {
		Request json.RawMessage `json:"request"`
	}
	if json.Unmarshal(raw, &review) == nil && len(review.Request) > 0 && !bytes.Equal(review.Request, []byte("null")) {
		raw = review.Request
	}
	var asked struct {
		UID    string          `json:"uid"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(raw, &asked); err != nil {
		return nil, "", nil, fmt.Errorf("%s holds no AdmissionRequest (--raw takes any JSON): %w", f.request, err)
	}
	return raw, asked.UID, asked.Object, nil
}
