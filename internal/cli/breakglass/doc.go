// Package breakglass has the commands about breakglass sessions: asking for one, answering,
// ending, and listing them. Which steps a session takes is in excuse/breakglass. A further
// command about sessions goes here.
package breakglass
