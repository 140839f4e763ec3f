package risk

import "github.com/sallyport-io/sallyport/api/v1alpha1"

// Denies reports whether the access is denied as it stands, for lack of an approval
// too.
func (v *Verdict) Denies() bool {
	return severity(v.Action) >= severity(v1alpha1.ActionRequireApproval)
}

// NeedsApproval reports whether an approved session is what the access is denied
// for the want of.
func (v *Verdict) NeedsApproval() bool { return v.Action == v1alpha1.ActionRequireApproval }
