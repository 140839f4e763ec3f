package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

var (
	link   = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)]*))?\)`)
	head   = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fenced = regexp.MustCompile("(?ms)^```.*?^```")
	code   = regexp.MustCompile("`[^`\n]*`")
	flag   = regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`)
	metric = regexp.MustCompile(`\bsallyport_[a-z_]+`)

	quotedMetric = regexp.MustCompile(`"(sallyport_[a-z_]+)"`)
)

func TestLinks(t *testing.T) {
	all := pages(t)
	for file, page := range all {
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(page, ""), -1) {
			target, anchor := path.Join(path.Dir(file), found[1]), found[2]
			if strings.Contains(found[1], "://") {
				continue
			}
			if found[1] == "" {
				target = file
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which is not there", file, found[1])
				continue
			}
			if content, is := all[target]; is && anchor != "" && !slices.Contains(anchorsOf(content), anchor) {
				t.Errorf("%s links to %s#%s, and no heading there is called so", file, found[1], anchor)
			}
		}
	}
}

// anchorsOf are what headings of a page are linked to by, as forges make it of them.
func anchorsOf(page string) (anchors []string) {
	for _, found := range head.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, found[1])
		again := anchor
		for n := 1; slices.Contains(anchors, again); n++ {
			again = anchor + "-" + strconv.Itoa(n)
		}
		anchors = append(anchors, again)
	}
	return anchors
}

// TestEveryFlagIsDocumented holds docs/command-line.md to --help, both ways.
func TestEveryFlagIsDocumented(t *testing.T) {
	page := pages(t)["docs/command-line.md"]
	known := map[string]bool{}
	for _, command := range []string{"serve", "check", "access", "review", "convert", "request exception", "request session", "approve", "deny", "approve session", "deny session", "withdraw session", "revoke session", "sessions", "exceptions", "who-can", "identities", "identities bootstrap", "policy run", "policy inspect", "policy annotate", "policy scaffold", "doctor", "wiring", "demo", "version", "completion"} {
		_, section, ok := strings.Cut(page, "\n## "+command+"\n")
		if !ok {
			t.Errorf("docs/command-line.md has no section %q", command)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		help, _ := run(t, "sallyport "+command+" --help")
		for _, found := range flag.FindAllStringSubmatch(help, -1) {
			name := found[1]
			known[name] = true
			if name != "--help" && !strings.Contains(section, "`"+name) && !strings.Contains(section, ", "+name) {
				t.Errorf("docs/command-line.md, section %s, leaves out %s", command, name)
			}
		}
	}
	for _, found := range regexp.MustCompile("`(?:-\\w, )?(--[a-z-]+)").FindAllStringSubmatch(page, -1) {
		if !known[found[1]] {
			t.Errorf("docs/command-line.md names %s, which no command has", found[1])
		}
	}
}

// TestEveryMetricIsDocumented holds docs/metrics.md to the source, both ways.
func TestEveryMetricIsDocumented(t *testing.T) {
	var inSource []string
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(source string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(source, ".go") || strings.HasSuffix(source, "_test.go") {
			return err
		}
		content, err := os.ReadFile(source)
		for _, found := range quotedMetric.FindAllStringSubmatch(string(content), -1) {
			inSource = append(inSource, found[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(inSource) == 0 {
		t.Fatal("the source names no metric")
	}
	documented := metric.FindAllString(pages(t)["docs/metrics.md"], -1)
	for _, name := range inSource {
		if !slices.Contains(documented, name) {
			t.Errorf("docs/metrics.md leaves out %s", name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(inSource, name) {
			t.Errorf("docs/metrics.md names %s, which there is not", name)
		}
	}
}

// TestEveryDependencyIsDocumented holds docs/dependencies.md to go.mod.
func TestEveryDependencyIsDocumented(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	page := pages(t)["docs/dependencies.md"]
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) == 2 && strings.HasPrefix(fields[1], "v") && !strings.Contains(page, "`"+fields[0]+"`") {
			t.Errorf("docs/dependencies.md leaves out %s", fields[0])
		}
	}
}
