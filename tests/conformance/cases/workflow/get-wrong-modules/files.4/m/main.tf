output "x" {
  value = 
}
