// Package excuse is the floor of what excuses: exceptions, with requests for them and the
// answers (exception), and breakglass sessions.
//
// It imports what is below it. How long a session may last and who approves it stands in
// breakglass; who may write exceptions is a matter of controller/workflow.
package excuse
