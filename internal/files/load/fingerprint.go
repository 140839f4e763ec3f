package load

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
)

// Fingerprint is a hash of all that Policies would read from the paths: the
// names of the files, their content, and what cannot be read. It is the same
// exactly if Policies would give the same.
func Fingerprint(paths []string) [sha256.Size]byte {
	hash := sha256.New()
	part := func(s string) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(s)))
		hash.Write(length[:])
		hash.Write([]byte(s))
	}
	files, problems := collect(paths, nil)
	for _, problem := range problems {
		part(problem.Error())
	}
	for _, f := range files {
		part(f.name)
		part(contentHash(f))
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// contentHash is the hash of a file, or the error that reading it gave.
func contentHash(f file) string {
	reader, err := f.open()
	if err != nil {
		return unreadable(err)
	}
	defer reader.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, reader); err != nil {
		return unreadable(err)
	}
	return string(hash.Sum(nil))
}
