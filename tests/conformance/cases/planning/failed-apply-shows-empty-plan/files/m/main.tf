output "o" {
 value = null
}
