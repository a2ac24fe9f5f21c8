package interceptor

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// logExecution says what ran where and how it ended, for the audit; never what
// the code was or put out (decision 21).
func (ex *exchange) logExecution(code string, report sandbox.Report, err error) {
	level := zapcore.InfoLevel
	if err != nil {
		level = zapcore.WarnLevel
	}
	entry := ex.i.Log.Check(level, "execution")
	if entry == nil {
		return
	}
	entry.Write(
		zap.String("container", ex.lease.ID()),
		zap.Int("turn", ex.turns),
		zap.Int("code_bytes", len(code)),
		zap.Int("output_bytes", outputBytes(report.Outputs)),
		zap.String("outcome", outcomeName(report, err)),
		zap.Bool("state_lost", report.Lost || report.StateLost),
		zap.Duration("duration", report.Duration),
		zap.Error(err),
	)
}

func outputBytes(outputs []sandbox.Output) int {
	n := 0
	for _, o := range outputs {
		n += len(o.Text) + len(o.Data)
	}
	return n
}

func outcomeName(r sandbox.Report, err error) string {
	switch {
	case err != nil:
		return "failed"
	case r.TimedOut:
		return "timed out"
	case r.Flooded:
		return "flooded"
	}
	switch r.Outcome {
	case sandbox.Raised:
		return "raised"
	case sandbox.Interrupted:
		return "interrupted"
	case sandbox.Died:
		return "died"
	case sandbox.OutOfMemory:
		return "out of memory"
	default:
		return "completed"
	}
}
