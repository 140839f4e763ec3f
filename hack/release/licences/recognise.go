package licences

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// known are the licences that what we link may have, each with words that stand in its
// text and in no other, after [plain].
var known = []struct {
	id    string
	words string
	// unless takes out a text that has these words too.
	unless string
}{
	{id: "Apache-2.0", words: "apache license version 2 0 january 2004"},
	{id: "Apache-2.0", words: "licensed under the apache license version 2 0"},
	{id: "MPL-2.0", words: "mozilla public license version 2 0 1 definitions"},
	{id: "MIT", words: "permission is hereby granted free of charge to any person obtaining a copy of this software and associated documentation files"},
	{id: "ISC", words: "permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted"},
	{id: "ISC", words: "permission to use copy modify and distribute this software for any purpose with or without fee is hereby granted"},
	{id: "BSD-3-Clause", words: "be used to endorse or promote products derived from this software without"},
	{id: "BSD-2-Clause", words: "redistribution and use in source and binary forms with or without modification are permitted", unless: "endorse or promote products"},
	{id: "Unlicense", words: "this is free and unencumbered software released into the public domain"},
	{id: "CC0-1.0", words: "cc0 1 0 universal"},
}

// foreign are words of licences that oblige who links to publish under them. The Mozilla
// one names them as others that may be chosen.
var foreign = regexp.MustCompile(`gnu (?:lesser |library |affero )?general public license|server side public license|business source license|creative commons attribution (?:noncommercial|sharealike)`)

var gaps = regexp.MustCompile(`[^a-z0-9]+`)

// plain makes a text comparable: lower case, and a space for whatever is between words.
func plain(text []byte) string {
	return gaps.ReplaceAllString(strings.ToLower(string(text)), " ")
}

// Recognise gives the SPDX identifiers of the licences in a text, sorted. None, and one
// that is not compatible with Apache-2.0, are errors.
func Recognise(text []byte) ([]string, error) {
	words := plain(text)
	var ids []string
	for _, l := range known {
		if strings.Contains(words, l.words) && (l.unless == "" || !strings.Contains(words, l.unless)) && !slices.Contains(ids, l.id) {
			ids = append(ids, l.id)
		}
	}
	if found := foreign.FindString(words); found != "" && !slices.Contains(ids, "MPL-2.0") {
		return nil, fmt.Errorf("it names the %q, which is not compatible with Apache-2.0", found)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("it is not a licence that is known here; look at it, and add it to known in hack/release/licences/recognise.go if it is compatible with Apache-2.0")
	}
	slices.Sort(ids)
	return ids, nil
}

// Expression is the SPDX expression of what holds all of these licences.
func Expression(ids ...string) string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND ")
}
