package exception

// Answered is answered.
var Answered = answered
