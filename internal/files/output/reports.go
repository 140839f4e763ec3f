package output

import (
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/observe/report"
)

type reportList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []report.Report `json:"items"`
}

// writeReports writes a List of OpenReports objects.
func writeReports(w io.Writer, j *Judgement) error {
	return encode(w, reportList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: report.Of(j.Decision.Results)})
}
