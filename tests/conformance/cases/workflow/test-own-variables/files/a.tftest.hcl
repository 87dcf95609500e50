variables {
  wanted = 4
  unused = "x"
}
run "uses" {
  variables {
    n    = 2 + 2
    more = ["a", var.n]
  }
  assert {
    condition     = output.n == var.wanted && var.more == ["a", 1]
    error_message = "n is ${output.n}, more is ${jsonencode(var.more)}"
  }
}
run "without" {
  assert {
    condition     = output.n == var.wanted
    error_message = "n is ${output.n}"
  }
}
run "local" {
  variables {
    n = local.x
  }
}
