variable "secret" {
  type      = string
  sensitive = true
  default   = "hush"
}
variable "plain" {
  default = ""
}
resource "terraform_data" "a" { input = var.secret }
output "secret" {
  value     = terraform_data.a.output
  sensitive = true
}
output "plain" { value = var.plain }
