package exception

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// ParseDuration reads a duration as exceptions have it: whole numbers with the
// units w, d, h, m and s, such as 30d or 1d12h. A day has 24 hours. It is more
// than zero.
func ParseDuration(text string) (time.Duration, error) {
	var total time.Duration
	rest := text
	for rest != "" {
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		if digits == len(rest) {
			return 0, malformedDuration(text)
		}
		unit, ok := units[rest[digits]]
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if !ok || err != nil {
			return 0, malformedDuration(text)
		}
		if n > int64((math.MaxInt64-total)/unit) {
			return 0, fmt.Errorf("duration %q is longer than 292 years", text)
		}
		total += time.Duration(n) * unit
		rest = rest[digits+1:]
	}
	if total <= 0 {
		return 0, fmt.Errorf("duration %q is not a time at all; give more than zero", text)
	}
	return total, nil
}

var units = map[byte]time.Duration{
	'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second,
}

func malformedDuration(text string) error {
	return fmt.Errorf("duration %q cannot be read; write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h", text)
}
