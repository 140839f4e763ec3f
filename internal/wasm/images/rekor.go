package images

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/tlog"
)

// rekorEntry reads the entry of the transparency log that came with a signature.
func (s *signature) rekorEntry() (*protorekor.TransparencyLogEntry, error) {
	if s.rekor == "" {
		return nil, errors.New("it has no entry of a transparency log")
	}
	var b struct {
		SignedEntryTimestamp []byte
		Payload              struct {
			Body           []byte `json:"body"`
			IntegratedTime int64  `json:"integratedTime"`
			LogIndex       int64  `json:"logIndex"`
			LogID          string `json:"logID"`
		}
	}
	if err := json.Unmarshal([]byte(s.rekor), &b); err != nil {
		return nil, fmt.Errorf("its entry of a transparency log cannot be read: %w", err)
	}
	id, err := hex.DecodeString(b.Payload.LogID)
	if err != nil {
		return nil, fmt.Errorf("its entry of a transparency log cannot be read: %w", err)
	}
	var kind struct {
		Kind    string `json:"kind"`
		Version string `json:"apiVersion"`
	}
	if err := json.Unmarshal(b.Payload.Body, &kind); err != nil {
		return nil, fmt.Errorf("its entry of a transparency log cannot be read: %w", err)
	}
	return &protorekor.TransparencyLogEntry{
		LogIndex: b.Payload.LogIndex, LogId: &protocommon.LogId{KeyId: id},
		KindVersion:    &protorekor.KindVersion{Kind: kind.Kind, Version: kind.Version},
		IntegratedTime: b.Payload.IntegratedTime, CanonicalizedBody: b.Payload.Body,
		InclusionPromise: &protorekor.InclusionPromise{SignedEntryTimestamp: b.SignedEntryTimestamp},
	}, nil
}

// logged is when a signature with a key was entered into the log, if the log has it.
func (s *signature) logged(trusted root.TrustedMaterial, key crypto.PublicKey) (time.Time, error) {
	entry, err := s.rekorEntry()
	if err != nil {
		return time.Time{}, err
	}
	e, err := tlog.ParseTransparencyLogEntry(entry)
	if err == nil {
		err = tlog.ValidateEntry(e)
	}
	if err == nil {
		err = tlog.VerifySET(e, trusted.RekorLogs())
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("its entry of a transparency log is not to be trusted: %w", err)
	}
	sum := sha256.Sum256(s.payload)
	digest, algorithm, ok := e.GetHashedRekordDigest()
	if !ok || algorithm != "sha256" || !bytes.Equal(digest, sum[:]) || !bytes.Equal(e.Signature(), s.signed) {
		return time.Time{}, errors.New("its entry of a transparency log is that of another signature")
	}
	if !sameKey(e.PublicKey(), key) {
		return time.Time{}, errors.New("its entry of a transparency log is that of another key")
	}
	return e.IntegratedTime(), nil
}
