package wasm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// Config says how an Engine is set up. The zero Config is of use.
type Config struct {
	// CacheDir is where compiled modules are kept, so that a restart need not
	// compile them again. What lies there is run as machine code: the directory
	// must be writable only by its owner. Empty keeps nothing.
	CacheDir string
	Limits   Limits
}

// Engine compiles modules and runs them. It is safe for concurrent use.
type Engine struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache
	dir     string
	limits  Limits
	given   map[Kind]map[string]bool
}

// NewEngine returns an Engine that gives modules the imports of waPC, host.call
// and WASI preview 1 without files, sockets and environment, or those of Rego, and
// nothing else.
func NewEngine(ctx context.Context, config Config) (*Engine, error) {
	e := &Engine{limits: config.Limits.withDefaults()}
	settings := wazero.NewRuntimeConfig().
		WithCloseOnContextDone(true).
		WithDebugInfoEnabled(false).
		WithMemoryLimitPages(e.limits.MemoryPages)
	if config.CacheDir != "" {
		cache, err := openCache(config.CacheDir)
		if err != nil {
			return nil, err
		}
		e.cache, e.dir = cache, config.CacheDir
		settings = settings.WithCompilationCache(cache)
	}
	e.runtime = wazero.NewRuntimeWithConfig(ctx, settings)

	names := map[string][]string{}
	for module, export := range map[string]func(wazero.HostModuleBuilder){
		moduleWaPC: exportWaPC, moduleHost: exportHost, moduleJavy: exportHost, moduleWASI: exportWASI,
		// AssemblyScript and Rego call their hosts by the same name.
		moduleRego: func(b wazero.HostModuleBuilder) { exportRegoHost(b); exportAbort(b) },
	} {
		given, err := instantiateHost(ctx, e.runtime, module, export)
		if err != nil {
			return nil, errors.Join(err, e.Close(ctx))
		}
		names[module] = given
	}
	aborts := []string{moduleRego + "." + abort}
	e.given = map[Kind]map[string]bool{
		KindWaPC: joined(names[moduleWaPC], names[moduleWASI], aborts),
		KindWASI: joined(names[moduleHost], names[moduleJavy], names[moduleWASI], aborts),
		KindRego: joined(names[moduleRego], []string{importMemory}),
	}
	return e, nil
}

// Close ends everything that the engine compiled, evaluations that still run
// included.
func (e *Engine) Close(ctx context.Context) error {
	err := e.runtime.Close(ctx)
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(ctx))
	}
	return err
}

func openCache(dir string) (wazero.CompilationCache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the directory of compiled modules cannot be made: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("the directory of compiled modules cannot be read: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("the directory of compiled modules %s has mode %v: others could put code into it; it must be writable only by its owner", dir, fs.FileMode(info.Mode().Perm()))
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, fmt.Errorf("the directory of compiled modules %s cannot be used: %w", dir, err)
	}
	return cache, nil
}

// compileModule compiles module. A file of the cache that is damaged, by a disk that was
// full for one, must not keep a policy from running: the cache is emptied.
func (e *Engine) compileModule(ctx context.Context, module []byte) (_ wazero.CompiledModule, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it is not valid, and the compiler failed over it: %s", tidy(fmt.Sprint(r), 300))
		}
	}()
	// Workers of the compiler would be faster, and where it panics over a module
	// that somebody made for that, it would be in a goroutine that is not ours.
	ctx = experimental.WithCompilationWorkers(ctx, 1)
	compiled, err := e.runtime.CompileModule(ctx, module)
	if err == nil || e.dir == "" || !strings.HasPrefix(err.Error(), "compilationcache:") {
		return compiled, err
	}
	files, globErr := filepath.Glob(filepath.Join(e.dir, "wazero-*", "*"))
	if globErr != nil {
		return nil, errors.Join(err, globErr)
	}
	for _, file := range files {
		if removeErr := os.Remove(file); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			return nil, errors.Join(err, removeErr)
		}
	}
	return e.runtime.CompileModule(ctx, module)
}

// instantiateHost makes the functions that export adds available to modules and
// returns their names, as "module.name".
func instantiateHost(ctx context.Context, r wazero.Runtime, name string, export func(wazero.HostModuleBuilder)) ([]string, error) {
	builder := r.NewHostModuleBuilder(name)
	export(builder)
	compiled, err := builder.Compile(ctx)
	if err != nil {
		return nil, fmt.Errorf("the host module %s: %w", name, err)
	}
	if _, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(name)); err != nil {
		return nil, fmt.Errorf("the host module %s: %w", name, err)
	}
	var names []string
	for function := range compiled.ExportedFunctions() {
		names = append(names, name+"."+function)
	}
	return names, nil
}

func joined(lists ...[]string) map[string]bool {
	all := map[string]bool{}
	for _, names := range lists {
		for _, name := range names {
			all[name] = true
		}
	}
	return all
}
