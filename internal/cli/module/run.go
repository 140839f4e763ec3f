package module

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
	"github.com/sallyport-io/sallyport/internal/wasm/recording"
)

// policyRunFlags are the flags of policy run.
type policyRunFlags struct {
	option.Live
	settingsFlags
	images         option.Images
	registryConfig string
	signed         signedFlags
	request        string
	mode           string
	raw            bool
	contextAware   bool
	capabilities   []string
	replay, record string
	noCache        bool
	deadline       time.Duration

	// played is the session that is replayed.
	played *recording.Replay
}

const dockerConfigFlag = "docker-config-json-path"

func newPolicyRun(s command.Streams) *cobra.Command {
	f := &policyRunFlags{}
	cmd := &cobra.Command{
		Use: "run MODULE -r REQUEST", Short: "Have a module judge one request",
		Long: `Run has a module judge one request, and prints its answer: an AdmissionResponse in
JSON, on one line. The settings are validated first.

A module may read nothing unless --allow-context-aware grants it what its metadata
declares. It reads the cluster that --kubeconfig or --context names, or a recorded
session. What is refused to it is said on standard error. It may have certificates
judged, which asks nobody; other calls, such as those to registries, are granted by
--allowed-host-capabilities, or all of them by --allow-context-aware.

A module that was compiled from Rego is run as a policy of the mode opa or of the
mode gatekeeper; its metadata or -e says which.

The exit status is 0 once the module has answered, whatever the answer is; 1 if it
refuses the settings; 2 if it could not judge.`,
		Example: `  sallyport policy run annotated-policy.wasm -r request.json --settings-json '{"valid_namespace": "shop"}'
  sallyport policy run policy.wasm -r request.json --allow-context-aware --replay-host-capabilities-interactions session.yml`,
		Args: oneModule,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), s, args[0])
		},
	}
	f.Live.Add(cmd, "the cluster that the module may read")
	f.images.Add(cmd)
	f.signed.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.registryConfig, dockerConfigFlag, "", "credentials for registries: the config.json that docker login writes, or its directory")
	flags.StringVarP(&f.request, "request-path", "r", "", "the AdmissionRequest, or an AdmissionReview that holds it: a file, or -")
	f.settingsFlags.add(cmd)
	flags.StringVarP(&f.mode, "execution-mode", "e", "", "kubewarden, wasi, opa or gatekeeper; what the metadata of the module says, if not given")
	flags.BoolVar(&f.raw, "raw", false, "the request is any JSON, and no AdmissionRequest; the metadata of a module may say so as well")
	flags.BoolVar(&f.contextAware, "allow-context-aware", false, "let the module read what its metadata declares, and make every other call")
	flags.StringSliceVar(&f.capabilities, "allowed-host-capabilities", nil, "calls beside reads that the module may make, such as 'oci/*' or net/v1/dns_lookup_host (repeatable)")
	flags.StringVar(&f.replay, "replay-host-capabilities-interactions", "", "answer the module from a recorded session: a file with YAML")
	flags.StringVar(&f.record, "record-host-capabilities-interactions", "", "write what the module asks and is answered to a file, as such a session")
	flags.BoolVar(&f.noCache, "disable-wasmtime-cache", false, "compile the module again, and keep nothing of it")
	flags.DurationVar(&f.deadline, "timeout", 10*time.Second, "longest time that the module may take")
	return cmd
}

func (f *policyRunFlags) run(ctx context.Context, s command.Streams, name string) error {
	if f.request == "" {
		return usage.Errorf("the request is missing; give a file with -r")
	}
	if f.replay != "" && f.record != "" {
		return usage.Errorf("a session is replayed or recorded; give one of the two")
	}
	credential, err := option.RegistryCredential(dockerConfigFlag, f.registryConfig)
	if err != nil {
		return err
	}
	registries, err := f.images.Registries(credential)
	if err != nil {
		return err
	}
	read, err := readModuleWith(ctx, name, credential)
	if err != nil {
		return err
	}
	if err := f.signed.check(ctx, registries, name, read); err != nil {
		return err
	}
	metadata, err := module.Read(read.Wasm)
	if err != nil {
		return err
	}
	f.raw = f.raw || metadata != nil && metadata.PolicyType == module.RawPolicy
	asked, err := f.readRequest(s)
	if err != nil {
		return err
	}
	settings, err := f.settingsFlags.read()
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
	host, err := f.host(s, name, metadata, mode, registries)
	if err != nil {
		return err
	}
	policy := compiled.Evaluator(wasm.EvaluatorOptions{Policy: name, HostCall: host.call, Data: host.data, Observer: &command.ModuleLog{Out: s.Err}, Deadline: f.deadline})
	valid, err := policy.ValidateSettings(ctx, settings)
	if valid, err = refusal(valid, err); err != nil {
		return fmt.Errorf("the settings could not be validated: %w", err)
	}
	if !valid.Valid {
		return refuseSettings(s, valid)
	}
	response, judged := policy.Validate(ctx, asked.request, settings)
	if err := host.finish(); err != nil {
		return err
	}
	f.printLeft(s)
	return f.answer(s, asked, metadata, response, judged)
}

// printLeft says what of a session was not used: a policy that asks for less than it
// did when it was recorded is worth a look.
func (f *policyRunFlags) printLeft(s command.Streams) {
	if f.played == nil {
		return
	}
	if left := len(f.played.Left()); left > 0 {
		fmt.Fprintf(s.Err, "warning: the module did not ask for what the last %d entries of the session answer\n", left)
	}
}

// cacheDir is where compiled modules are kept, so that the next run is quicker; none
// if there is no such place.
func (f *policyRunFlags) cacheDir() string {
	dir, err := os.UserCacheDir()
	if f.noCache || err != nil {
		return ""
	}
	dir = filepath.Join(dir, "sallyport", "modules")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	return dir
}
