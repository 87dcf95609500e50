variable "l" { 
  type = list(bool) 
  default = null 
}
resource "terraform_data" "x" { input = true }
output "a" { value = !var.l == null || true }
output "b" { value = tobool("x") || true }
output "c" { value = tobool("x") && false }
output "d" { value = (1 + "a" > 2) || true }
output "e" { value = false && tobool("x") }
output "f" { value = [1][3] == 2 || true }
output "h" { value = null || true }
output "j" { value = terraform_data.x.output || tobool("x") }
output "k" { value = terraform_data.x.output && [][2] }
