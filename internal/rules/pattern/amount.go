package pattern

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// amount is a number or a quantity, exactly: coefficient x 10^exponent, which is
// negative if neg. Unlike a quantity of the API it is neither rounded nor capped,
// so amounts that differ never compare as equal.
type amount struct {
	neg bool
	// coefficient is not used if wide is set, which holds what needs more bits.
	coefficient uint64
	wide        *big.Int
	exponent    int
}

const (
	// longestAmount and largestExponent bound what comparing amounts can cost.
	longestAmount   = 1024
	largestExponent = 1000
)

// decimalSuffixes and binarySuffixes are the powers of ten and of two that the
// suffixes of quantities stand for.
var (
	decimalSuffixes = map[string]int{"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
	binarySuffixes  = map[string]uint{"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
)

// parseAmount reads a number or a quantity as the API writes them: 5, -0.5,
// 100m, 1.5Gi, 1e3. It reports false for everything else.
func parseAmount(text string) (amount, bool) {
	if text == "" || len(text) > longestAmount {
		return amount{}, false
	}
	var a amount
	rest := text
	if rest[0] == '+' || rest[0] == '-' {
		a.neg = rest[0] == '-'
		rest = rest[1:]
	}
	end, point, digits, fits := 0, -1, 0, true
	for ; end < len(rest); end++ {
		c := rest[end]
		if c == '.' && point < 0 {
			point = end
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits++
		hi, lo := bits.Mul64(a.coefficient, 10)
		sum, carry := bits.Add64(lo, uint64(c-'0'), 0)
		fits = fits && hi == 0 && carry == 0
		a.coefficient = sum
	}
	if digits == 0 {
		return amount{}, false
	}
	if !fits {
		a.wide, _ = new(big.Int).SetString(strings.Replace(rest[:end], ".", "", 1), 10)
	}
	if point >= 0 {
		a.exponent = point + 1 - end
	}
	if !a.scale(rest[end:]) {
		return amount{}, false
	}
	if a.isZero() {
		return amount{}, true
	}
	return a, true
}

// scale applies a suffix. It reports false if there is no such suffix.
func (a *amount) scale(suffix string) bool {
	if power, ok := decimalSuffixes[suffix]; ok {
		a.exponent += power
		return true
	}
	if shift, ok := binarySuffixes[suffix]; ok {
		hi, lo := bits.Mul64(a.coefficient, 1<<shift)
		switch {
		case a.wide != nil:
			a.wide.Lsh(a.wide, shift)
		case hi != 0:
			a.wide = new(big.Int).Lsh(new(big.Int).SetUint64(a.coefficient), shift)
		default:
			a.coefficient = lo
		}
		return true
	}
	if suffix[0] != 'e' && suffix[0] != 'E' {
		return false
	}
	digits := strings.TrimLeft(suffix[1:], "+-")
	if len(suffix)-len(digits) > 2 || digits == "" || len(digits) > 4 {
		return false
	}
	power, err := strconv.Atoi(suffix[1:])
	if err != nil || power > largestExponent || power < -largestExponent {
		return false
	}
	a.exponent += power
	return true
}

// amountOf reads a value of a number's type.
func amountOf(value any) (amount, bool) {
	switch v := value.(type) {
	case int:
		return integer(int64(v)), true
	case int64:
		return integer(v), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return amount{}, false
		}
		if whole := int64(v); math.Abs(v) < 1<<53 && float64(whole) == v {
			return integer(whole), true
		}
		return parseAmount(strconv.FormatFloat(v, 'e', -1, 64))
	}
	return amount{}, false
}

func integer(v int64) amount {
	if v < 0 {
		return amount{neg: true, coefficient: -uint64(v)}
	}
	return amount{coefficient: uint64(v)}
}

func (a *amount) isZero() bool {
	if a.wide != nil {
		return a.wide.Sign() == 0
	}
	return a.coefficient == 0
}

// compare returns -1, 0 or +1 as a is less than, equal to or greater than b.
func (a *amount) compare(b *amount) int {
	switch {
	case a.neg && b.neg:
		return -compareSize(a, b)
	case a.neg:
		return -1
	case b.neg:
		return +1
	}
	return compareSize(a, b)
}

// compareSize compares without the sign.
func compareSize(a, b *amount) int {
	switch {
	case a.isZero() || b.isZero():
		return cmp.Compare(asInt(!a.isZero()), asInt(!b.isZero()))
	case a.wide != nil || b.wide != nil:
		return compareWide(a, b)
	case a.exponent < b.exponent:
		return -compareSize(b, a)
	}
	scaled := a.coefficient
	for range a.exponent - b.exponent {
		hi, lo := bits.Mul64(scaled, 10)
		if hi != 0 {
			// It is more than any coefficient that b could have.
			return +1
		}
		scaled = lo
	}
	return cmp.Compare(scaled, b.coefficient)
}

// compareWide compares amounts of which one needs more than 64 bits.
func compareWide(a, b *amount) int {
	least := min(a.exponent, b.exponent)
	return a.bigAt(least).Cmp(b.bigAt(least))
}

// bigAt is the coefficient for an exponent that is not above that of a.
func (a *amount) bigAt(exponent int) *big.Int {
	coefficient := a.wide
	if coefficient == nil {
		coefficient = new(big.Int).SetUint64(a.coefficient)
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(a.exponent-exponent)), nil)
	return power.Mul(power, coefficient)
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
