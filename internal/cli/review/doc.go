// Package review is the command review: it answers recorded reviews as the server would. A
// further sort of review is told apart in parseReview.
package review
