
variable "v" { type = string }
locals { n = tonumber(var.v) }
output "n" { value = local.n }
output "w" {
  value = 1
  precondition {
    condition = tonumber(var.v) > 1
    error_message = "no"
  }
}
