output "address" {
  description = "Name of the load balancer: point the public name at it."
  value       = aws_lb.this.dns_name
}

output "task_role_arn" {
  description = "Role of the gateway: let it invoke models of Bedrock."
  value       = aws_iam_role.task.arn
}
