output "k" {
  value     = terraform_data.x
  sensitive = true
}
resource "terraform_data" "x" {
  input = sensitive("y")
}
output "deps" {
  value       = "v"
  description = "text"
  depends_on  = [terraform_data.x]
}
