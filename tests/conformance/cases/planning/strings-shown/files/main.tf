terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "k" { default = 1 }
resource "lab_thing" "t" {
  name = "quote \" back \\ dollar $${x} pct %%{y}"
  color = "tab\tnew\nline ${var.k}\n"
  secret = "multi\nline ${var.k}"
  labels = {
    "json" = jsonencode({ a = [var.k], b = { c = null, d = true } })
    "arr" = jsonencode([1, var.k])
    "str" = jsonencode("x${var.k}")
    "spaces" = "{ \"a\" : ${var.k} }"
    "yaml" = yamlencode({ a = var.k, b = ["x"] })
    "empty" = ""
    "uni" = "Ü✓${var.k}"
  }
  notes = ["", " lead", "a\nb${var.k}", "trail\n"]
}
output "c" { value = lab_thing.t.color }
output "q" { value = lab_thing.t.name }
