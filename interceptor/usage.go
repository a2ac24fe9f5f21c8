package interceptor

import (
	"strconv"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
)

// addUsage sums two usage objects member by member, with their details, and
// takes a missing or null one for nothing (cases/litellm.md B9).
func addUsage(a, b rawjson.Value) rawjson.Value {
	return addNested(a, b, 0)
}

// maxUsageDepth is more than any upstream's details need; each level is parsed
// again, so that an endless nesting would cost its square.
const maxUsageDepth = 4

func addNested(a, b rawjson.Value, depth int) rawjson.Value {
	switch {
	case rawjson.IsNull(b):
		return a
	case rawjson.IsNull(a):
		return b
	case a.Kind() == '0' && b.Kind() == '0':
		return addNumbers(a, b)
	case a.Kind() == '{' && b.Kind() == '{' && depth < maxUsageDepth:
		sum, errA := rawjson.ParseLenient(a)
		other, errB := rawjson.ParseLenient(b)
		if errA != nil || errB != nil {
			return b
		}
		for _, name := range other.Names() {
			sum.Set(name, addNested(sum.Get(name), other.Get(name), depth+1))
		}
		return sum.Bytes()
	default:
		return b
	}
}

func addNumbers(a, b rawjson.Value) rawjson.Value {
	x, errX := strconv.ParseInt(string(a), 10, 64)
	y, errY := strconv.ParseInt(string(b), 10, 64)
	if errX == nil && errY == nil {
		return rawjson.Int(x + y)
	}
	f, errF := strconv.ParseFloat(string(a), 64)
	g, errG := strconv.ParseFloat(string(b), 64)
	if errF != nil || errG != nil {
		return b
	}
	return rawjson.Value(strconv.AppendFloat(nil, f+g, 'g', -1, 64))
}

// outputTokens reads the output_tokens of a usage object; 0 when unknown.
func outputTokens(usage rawjson.Value) int64 {
	if usage.Kind() != '{' {
		return 0
	}
	o, err := rawjson.ParseLenient(usage)
	if err != nil {
		return 0
	}
	n, _ := o.Int("output_tokens")
	return max(n, 0) // a budget is never raised by what an upstream says
}
