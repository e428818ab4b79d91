package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/torture-harness/torture/checkers"
)

// The elements of JUnit's format that CI systems read.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Stamp    string      `xml:"timestamp,attr,omitempty"`
		Values   []junitPair `xml:"properties>property"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitPair struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		Time    string     `xml:"time,attr"`
		Failure *junitText `xml:"failure"`
		Error   *junitText `xml:"error"`
		Out     string     `xml:"system-out,omitempty"`
	}
	junitText struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit writes one case per strategy and fault. A cell that is inconclusive is
// an error and not skipped: nothing undecided is ever green.
func junit(w io.Writer, r *run) error {
	suite := junitSuite{
		Name: "torture " + r.Name, Tests: len(r.Cells), Time: fmt.Sprintf("%.3f", r.Seconds), Stamp: r.Started,
		Values: []junitPair{{"seed", fmt.Sprint(r.Seed)}, {"provider", r.Provider}, {"command", r.Command}},
	}
	for _, c := range r.Cells {
		one := junitCase{
			Class: "torture." + r.Name + "." + c.Fault,
			Name:  c.Strategy + " under " + c.Fault,
			Time:  fmt.Sprintf("%.3f", c.Seconds),
			Out:   junitOut(c),
		}
		why := reasons(c.Cell)
		if loaded(c.Cell) {
			why = c.Reasons // the load is all there is to say
		}
		text := &junitText{Type: string(c.Status), Message: clip(strings.Join(why, "; "), 1000), Text: junitStory(c)}
		suite.add(one, text, c.Status)
	}
	return writeJUnit(w, suite)
}

// add adds a case that came to this, for this reason.
func (s *junitSuite) add(one junitCase, why *junitText, status checkers.Status) {
	switch status {
	case checkers.Pass:
	case checkers.Failed:
		one.Failure = why
		s.Failures++
	default:
		one.Error = why
		s.Errors++
	}
	s.Cases = append(s.Cases, one)
}

func writeJUnit(w io.Writer, suite junitSuite) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	return enc.Encode(suite)
}

// junitOut is what was found, one line per mark.
func junitOut(c *cell) string {
	m := marksOf(c.Cell)
	var lines []string
	for _, one := range m.all() {
		lines = append(lines, strings.TrimSpace(one.Text+" "+one.Rate))
	}
	return strings.Join(lines, "\n")
}

func junitStory(c *cell) string {
	if c.Problem != "" {
		return c.Problem
	}
	for _, s := range tell(c) {
		if s.Tone != good {
			return s.Title + ". " + s.Sentences()
		}
	}
	return ""
}
