package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SignatureHeader carries the signature of a message: t=SECONDS,v1=HEX, where HEX
// is the HMAC-SHA256 of SECONDS, a dot and the body.
const SignatureHeader = "Sallyport-Signature"

// Sign is the value of the header for a body that is sent at a time.
func Sign(secret, body []byte, at time.Time) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac(secret, seconds, body))
}

func mac(secret []byte, seconds string, body []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(seconds + "."))
	h.Write(body)
	return h.Sum(nil)
}

// Verify checks a signature, and that it is not older than maxAge, so that nobody
// can send an old message again.
func Verify(secret, body []byte, header string, now time.Time, maxAge time.Duration) error {
	stamp, signature, ok := strings.Cut(header, ",")
	seconds, isTime := strings.CutPrefix(stamp, "t=")
	signature, isSignature := strings.CutPrefix(signature, "v1=")
	if !ok || !isTime || !isSignature {
		return fmt.Errorf("the header %s is not t=SECONDS,v1=HEX", SignatureHeader)
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("the time of the signature is not a number: %w", err)
	}
	given, err := hex.DecodeString(signature)
	if err != nil || !hmac.Equal(given, mac(secret, seconds, body)) {
		return errors.New("the signature does not belong to this message")
	}
	if age := now.Sub(time.Unix(at, 0)); age > maxAge || age < -maxAge {
		return fmt.Errorf("the message was signed %s ago; at most %s is accepted", age.Round(time.Second), maxAge)
	}
	return nil
}
