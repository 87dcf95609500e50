variable "s" { default = "sec" }
resource "lab_thing" "t" {
  name   = "t"
  labels = { a = var.s, b = "open" }
  rule {
    port = 1
    cidr = var.s
  }
}
