package fetch

import (
	"context"
	"errors"
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// TestForeignGetsNothingOfTheServers says that whoever may only write into a
// namespace gets no module that the server got with its own credentials, by its
// digest or by these.
func TestForeignGetsNothingOfTheServers(t *testing.T) {
	t.Parallel()
	asked := false
	f := New(Options{Cache: t.TempDir(), Credential: func(context.Context, string) (auth.Credential, error) {
		asked = true
		return auth.Credential{}, errors.New("the test gives none")
	}})
	manifest := []byte(`{"layers":[{"mediaType":"application/wasm","digest":"` + DigestOf([]byte("\x00asm")) + `","size":4}]}`)
	for _, data := range [][]byte{manifest, []byte("\x00asm")} {
		if err := f.keep(DigestOf(data), data); err != nil {
			t.Fatal(err)
		}
	}
	address := "registry://modules.invalid/private@" + DigestOf(manifest)
	if _, err := f.Fetch(t.Context(), address); err != nil {
		t.Errorf("what was got before: %v", err)
	}
	if m, err := f.Fetch(Foreign(t.Context()), address); err == nil || asked {
		t.Errorf("got %v, credentials were asked for: %t", m, asked)
	}
}
