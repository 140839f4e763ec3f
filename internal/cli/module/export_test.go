package module

// Inspected is what policy inspect writes as JSON.
type Inspected = inspected

// Deployed is deployed.
var Deployed = deployed
