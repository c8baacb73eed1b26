package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// strftime formats the rendering's time as C's strftime does in the C locale, with glibc's "-"
// flag for no padding. Unknown directives are copied, as glibc does.
func (in *interp) strftime(format string) string {
	t := in.now
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c != '%' || i+1 >= len(format) {
			b.WriteByte(c)
			continue
		}
		i++
		bare := false
		if format[i] == '-' && i+1 < len(format) {
			bare = true
			i++
		}
		s, ok := directive(t, format[i])
		if !ok {
			s = "%" + string(rune(format[i]))
			if bare {
				s = "%-" + string(rune(format[i]))
			}
		} else if bare {
			if cut := strings.TrimLeft(s, "0 "); cut != "" && cut[0] >= '0' && cut[0] <= '9' {
				s = cut
			} else if cut == "" {
				s = "0"
			}
		}
		in.alloc(len(s))
		b.WriteString(s)
	}
	in.alloc(len(format))
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

func directive(t time.Time, c byte) (string, bool) {
	hour12 := (t.Hour()+11)%12 + 1
	isoYear, isoWeek := t.ISOWeek()
	weekday := int(t.Weekday())
	switch c {
	case 'Y':
		return strconv.Itoa(t.Year()), true
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100), true
	case 'y':
		return fmt.Sprintf("%02d", t.Year()%100), true
	case 'm':
		return t.Format("01"), true
	case 'd':
		return t.Format("02"), true
	case 'e':
		return t.Format("_2"), true
	case 'H':
		return t.Format("15"), true
	case 'k':
		return fmt.Sprintf("%2d", t.Hour()), true
	case 'I':
		return t.Format("03"), true
	case 'l':
		return fmt.Sprintf("%2d", hour12), true
	case 'M':
		return t.Format("04"), true
	case 'S':
		return t.Format("05"), true
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay()), true
	case 'B':
		return t.Month().String(), true
	case 'b', 'h':
		return t.Month().String()[:3], true
	case 'A':
		return t.Weekday().String(), true
	case 'a':
		return t.Weekday().String()[:3], true
	case 'p':
		return t.Format("PM"), true
	case 'P':
		return t.Format("pm"), true
	case 'w':
		return strconv.Itoa(weekday), true
	case 'u':
		return strconv.Itoa((weekday+6)%7 + 1), true
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-weekday)/7), true
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-(weekday+6)%7)/7), true
	case 'G':
		return strconv.Itoa(isoYear), true
	case 'V':
		return fmt.Sprintf("%02d", isoWeek), true
	case 'D', 'x':
		return t.Format("01/02/06"), true
	case 'F':
		return t.Format("2006-01-02"), true
	case 'T', 'X':
		return t.Format("15:04:05"), true
	case 'R':
		return t.Format("15:04"), true
	case 'r':
		return t.Format("03:04:05 PM"), true
	case 'c':
		return t.Format("Mon Jan _2 15:04:05 2006"), true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	case 'z', 'Z': // Python's datetime.now() carries no zone
		return "", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case '%':
		return "%", true
	}
	return "", false
}
