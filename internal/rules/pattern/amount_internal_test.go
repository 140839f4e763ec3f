package pattern

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAmounts(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		want       int
	}{
		{"the same", "5", "5", 0},
		{"a fraction of nothing", "5", "5.000", 0},
		{"thousandths", "1000m", "1", 0},
		{"binary", "1024Mi", "1Gi", 0},
		{"binary and decimal", "1G", "1Gi", -1},
		{"a part of a binary", "0.5Ki", "512", 0},
		{"an exponent", "1e3", "1k", 0},
		{"an exponent in capitals", "1E3", "1k", 0},
		{"exa, no exponent", "1E", "1e18", 0},
		{"an exponent below zero", "1E-3", "1m", 0},
		{"signs", "-1", "+1", -1},
		{"both below zero", "-2", "-1", -1},
		{"zero has no sign", "-0", "0", 0},
		{"zero of any size", "0Ei", "0e1000", 0},
		{"below what the API keeps", "1e-10", "1n", -1},
		{"above what the API keeps", "1e30", "1e31", -1},
		{"more than 64 bits", "18446744073709551616", "18446744073709551615", 1},
		{"more than 64 bits, equal", "18446744073709551616000", "18446744073709551616k", 0},
		{"binary above 64 bits", "1048576Ei", "1048575Ei", 1},
		{"many digits and a suffix", "100000000000000000000Ki", "102400000000000000000k", 0},
		{"far apart", "1e1000", "1e-1000", 1},
		{"far apart and wide", "18446744073709551616e1000", "1e-1000", 1},
		{"many zeros", "5." + strings.Repeat("0", 900), "5", 0},
		{"the last of many digits", "0." + strings.Repeat("0", 900) + "1", "0", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, okA := parseAmount(tt.a)
			b, okB := parseAmount(tt.b)
			if !okA || !okB {
				t.Fatalf("%s is an amount: %v, %s: %v", tt.a, okA, tt.b, okB)
			}
			if got := a.compare(&b); got != tt.want {
				t.Errorf("%s and %s: %d, want %d", tt.a, tt.b, got, tt.want)
			}
			if got := b.compare(&a); got != -tt.want {
				t.Errorf("%s and %s: %d, want %d", tt.b, tt.a, got, -tt.want)
			}
		})
	}
}

func TestNoAmounts(t *testing.T) {
	for _, text := range []string{
		"", "-", "+", ".", "-.", "abc", "1.2.3", "1 ", " 1", "1K", "1ki", "1kI", "1Zi", "1mm", "1e", "1e+", "1e+-1", "1e1001",
		"1e-1001", "1e99999999999", "e5", "0x10", "1_000", "Inf", "NaN", "1h", "1e3Mi", "١", "5\x00", strings.Repeat("1", longestAmount+1),
	} {
		if a, ok := parseAmount(text); ok {
			t.Errorf("%q is read as %+v", text, a)
		}
	}
	for _, value := range []any{nil, math.NaN(), math.Inf(1), "5", true, []any{}, struct{}{}} {
		if a, ok := amountOf(value); ok {
			t.Errorf("%v is read as %+v", value, a)
		}
	}
}

func TestAmountsOfNumbers(t *testing.T) {
	for text, value := range map[string]any{
		"5": int64(5), "-9223372036854775808": int64(math.MinInt64), "7": 7, "0.1": 0.1, "1e300": 1e300, "1e-300": 1e-300, "0": math.Copysign(0, -1), "100": 100.0,
	} {
		want, _ := parseAmount(text)
		got, ok := amountOf(value)
		if !ok || got.compare(&want) != 0 || got.neg != want.neg {
			t.Errorf("%v is read as %+v, want %+v", value, got, want)
		}
	}
}

// TestAmountsAsTheAPIReadsThem compares with the API's own quantities, within
// what they keep.
func TestAmountsAsTheAPIReadsThem(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	suffixes := []string{"", "m", "u", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E2", "e-2"}
	draw := func() string {
		number := fmt.Sprint(random.IntN(3000) - 1000)
		if random.IntN(3) == 0 {
			number += fmt.Sprintf(".%d", random.IntN(100))
		}
		return number + suffixes[random.IntN(len(suffixes))]
	}
	for range 20000 {
		left, right := draw(), draw()
		a, okA := parseAmount(left)
		b, okB := parseAmount(right)
		if !okA || !okB {
			t.Fatalf("%s is an amount: %v, %s: %v", left, okA, right, okB)
		}
		want := resource.MustParse(left)
		if got := a.compare(&b); got != want.Cmp(resource.MustParse(right)) {
			t.Fatalf("%s and %s: %d, the API says %d", left, right, got, -got)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]bool{
		"1h": true, "1h30m": true, "-5s": true, "+1ms": true, ".5s": true, "0": true, "-0": true,
		"": false, "h": false, "10": false, "100": false, "1d": false, "1h ": false, "nginx": false, "-": false, "9999999999h": false,
	} {
		if _, ok := parseDuration(text); ok != want {
			t.Errorf("%q is a duration: %v, want %v", text, ok, want)
		}
	}
}
