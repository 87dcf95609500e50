variable "e" {
  type      = object({ name = string, size = optional(number, 3), on = optional(bool) })
  default   = { name = 1 }
  ephemeral = true
}
resource "terraform_data" "a" {
  input = 1
}
