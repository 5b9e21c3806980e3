package outbox

import (
	"slices"
	"testing"
)

func TestPlacesGoToTheTenantsThatHaveTheLeastUnderWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		underWay       []int
		places, beyond int
		want           []int
	}{
		"alike":                                 {[]int{0, 0}, 20, 0, []int{10, 10}},
		"one more place than tenants":           {[]int{0, 0, 0}, 4, 0, []int{2, 1, 1}},
		"one has none":                          {[]int{90, 0}, 10, 0, []int{0, 10}},
		"until they have the same":              {[]int{4, 0, 2}, 9, 0, []int{1, 5, 3}},
		"of equals who has been dealt least":    {[]int{0, 1, 1}, 3, 0, []int{1, 1, 1}},
		"no places":                             {[]int{0, 3}, 0, 0, []int{0, 0}},
		"only beyond":                           {[]int{100, 0, 1, 0}, 0, 25, []int{0, 1, 0, 1}},
		"fewer beyond than tenants with none":   {[]int{0, 0, 0}, 0, 2, []int{1, 1, 0}},
		"beyond only for those with no place":   {[]int{0, 0, 0}, 2, 5, []int{1, 1, 1}},
		"nothing beyond for those who have one": {[]int{1, 1}, 1, 5, []int{1, 0}},
		"nobody":                                {nil, 5, 5, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turns := make([]turn, len(c.underWay))
			for i, n := range c.underWay {
				turns[i].underWay = n
			}
			share(turns, c.places, c.beyond)
			var got []int
			for _, one := range turns {
				got = append(got, one.share)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("shares %v, want %v", got, c.want)
			}
		})
	}
}
