package identity

// Difference is what an update does to the claims of an object.
type Difference struct {
	// Added are carried only afterwards, Removed only before, and Same both
	// times, as they are afterwards.
	Added, Removed, Same []Claim
}

// Compare compares the claims before an update with those after it. Another value
// under the same key is one claim removed and one added. Where a claim stands, and
// which source reads it, makes no difference.
func Compare(before, after []Claim) Difference {
	var d Difference
	for i := range after {
		if holds(before, &after[i]) {
			d.Same = append(d.Same, after[i])
		} else {
			d.Added = append(d.Added, after[i])
		}
	}
	for i := range before {
		if !holds(after, &before[i]) {
			d.Removed = append(d.Removed, before[i])
		}
	}
	return d
}

// Changed reports whether a claim came or went.
func (d *Difference) Changed() bool { return len(d.Added)+len(d.Removed) > 0 }

// Among reports whether every claim is also one of others.
func Among(claims, others []Claim) bool {
	for i := range claims {
		if !holds(others, &claims[i]) {
			return false
		}
	}
	return true
}

func holds(claims []Claim, claim *Claim) bool {
	for i := range claims {
		if claims[i].same(claim) {
			return true
		}
	}
	return false
}
