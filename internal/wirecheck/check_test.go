package wirecheck

import "testing"

func TestRecordingsPass(t *testing.T) {
	for _, name := range []string{"01", "03", "05", "09"} {
		if err := Check(Recording(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
