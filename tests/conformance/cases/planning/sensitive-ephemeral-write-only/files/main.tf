variable "s" {
  type      = string
  ephemeral = true
  sensitive = true
  default   = "x"
}
resource "lab_thing" "c" {
  name              = "c"
  secret_wo         = var.s
  secret_wo_version = 1
}
